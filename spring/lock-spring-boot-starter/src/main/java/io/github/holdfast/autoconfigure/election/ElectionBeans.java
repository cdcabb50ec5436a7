package io.github.holdfast.autoconfigure.election;

import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.service.LockService;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.config.RuntimeBeanReference;
import org.springframework.beans.factory.support.AutowireCandidateQualifier;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.BeanDefinitionRegistryPostProcessor;
import org.springframework.beans.factory.support.RootBeanDefinition;

/**
 * Defines a bean of type {@link LeaderElection} for each bean of type {@link ElectionRequest}. Its name is that of the request with {@code
 * Election} at its end, and its qualifier is the name of the request. A bean of the application with this name replaces it.
 */
public final class ElectionBeans implements BeanDefinitionRegistryPostProcessor {

    /** Returns the name of the election for this request. */
    static String nameFor(String request) {
        return request + "Election";
    }

    /** Creates an election. It is a method, because Spring's AOT processing cannot write lambdas down. */
    static LeaderElection create(LockService locks, ElectionRequest request) {
        return locks.election(request);
    }

    @Override
    public void postProcessBeanDefinitionRegistry(BeanDefinitionRegistry registry) {
        if (registry instanceof ConfigurableListableBeanFactory beans) {
            for (String request : beans.getBeanNamesForType(ElectionRequest.class, true, false)) {
                if (!registry.containsBeanDefinition(nameFor(request))) {
                    registry.registerBeanDefinition(nameFor(request), definition(request, beans));
                }
            }
        }
    }

    private static RootBeanDefinition definition(String request, ConfigurableListableBeanFactory beans) {
        RootBeanDefinition definition = new RootBeanDefinition(ElectionBeans.class);
        definition.setTargetType(LeaderElection.class);
        definition.setUniqueFactoryMethodName("create");
        definition
                .getConstructorArgumentValues()
                .addIndexedArgumentValue(0, new RuntimeBeanReference(LockService.class));
        definition.getConstructorArgumentValues().addIndexedArgumentValue(1, new RuntimeBeanReference(request));
        definition.addQualifier(new AutowireCandidateQualifier(Qualifier.class, request));
        definition.setPrimary(beans.containsBeanDefinition(request)
                && beans.getMergedBeanDefinition(request).isPrimary());
        return definition;
    }
}
